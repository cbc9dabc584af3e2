"""Methods that solve linear systems in the second derivatives of P, which need smooth losses and Psi = (s/2) ||w||^2."""
