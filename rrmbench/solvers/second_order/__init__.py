"""Methods that solve linear systems in the second derivatives of P, for smooth losses with a squared norm."""
