"""Figures to files: images, and commands for LaTeX."""

import re
import shutil
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.text import Text

from rrmbench.errors import RrmbenchError, shortened
from rrmbench.files import replacing
from rrmbench.report.plots.draw import draw

TEX = ("xelatex", "lualatex", "pdflatex")
DPI = 200  # of pixels
MANY = 3  # figures that are worth processes of their own
MISSING = re.compile(r"Glyph (\d+) .* missing from ")
_UNDATED = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
# what LaTeX would obey; `_`, `^` and `%` are made harmless by matplotlib
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "~": r"\textasciitilde{}",
    "λ": r"\ensuremath{\lambda}",
    "σ": r"\ensuremath{\sigma}",
    "μ": r"\ensuremath{\mu}",
    "γ": r"\ensuremath{\gamma}",
    "κ": r"\ensuremath{\kappa}",
}


def save_all(figures):
    """`save` for each (sheet, page, folder, stem, formats), several at a time where they are many.

    Returns the paths of all files, and the letters that the font has not.
    """
    if len(figures) < MANY:
        saved = [save(*figure) for figure in figures]
    else:
        from joblib import cpu_count

        with ProcessPoolExecutor(min(cpu_count(), len(figures))) as pool:
            saved = list(pool.map(save, *zip(*figures, strict=True)))
    return [path for paths, _ in saved for path in paths], set().union(*(letters for _, letters in saved))


def save(sheet, page, folder, stem, formats):
    """Draw a Sheet, write it in every format; return the paths of the files, and the letters that the font has not."""
    images = [kind for kind in formats if kind != "pgf"]
    written = []
    with _missing_letters() as letters:
        figure = draw(sheet, page) if images else None
        for kind in formats:
            path = folder / f"{stem}.{kind}"
            if kind == "pgf":
                _save_pgf(sheet, page, path)
            else:
                with matplotlib.rc_context(page.rc), replacing(path) as stream:
                    _print(figure, stream, kind)
            written.append(path)
    return written, letters


@contextmanager
def _missing_letters():
    """Yield a set which at the end has the letters that matplotlib has drawn as boxes, of which it only warns."""
    letters = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield letters
    for warning in caught:
        missing = MISSING.match(str(warning.message))
        if missing:
            letters.add(chr(int(missing[1])))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _print(figure, stream, kind):
    """What `figure.savefig` writes; it draws every figure twice, for a layout that is done here."""
    figure.dpi = DPI
    if kind == "png":
        FigureCanvasAgg(figure).print_png(stream)
    elif kind == "pdf":
        FigureCanvasPdf(figure).print_pdf(stream, metadata=_UNDATED["pdf"])
    else:
        FigureCanvasSVG(figure).print_svg(stream, metadata=_UNDATED["svg"])


def _save_pgf(sheet, page, path):
    """Write a figure in commands of LaTeX's package pgf, in the fonts of the document that reads it.

    The texts are measured by LaTeX. Raises RrmbenchError without it, and where it stops.
    """
    from matplotlib.backends.backend_pgf import LatexError

    found = next((name for name in TEX if shutil.which(name)), None)
    if found is None:
        raise RrmbenchError(
            "--format pgf: LaTeX measures the texts of the figure, and none of "
            f"{', '.join(TEX)} is installed (Debian and Ubuntu: apt install texlive-xetex; else TeX Live or MiKTeX); "
            "pdf needs nothing"
        )
    page = replace(page, rc=page.rc | {"font.family": "serif", "pgf.rcfonts": False, "pgf.texsystem": found})
    figure = draw(sheet, page)
    for text in figure.findobj(Text):
        text.set_text(escaped(text.get_text()))
    written = BytesIO()
    try:
        with matplotlib.rc_context(page.rc):
            figure.savefig(written, format="pgf")
    except (LatexError, RuntimeError, ValueError, OSError) as error:  # its pipe breaks
        reason = str(error).strip().splitlines() or [""]
        raise RrmbenchError(f"--format pgf: {found} stopped: {shortened(reason[0])}") from error
    with replacing(path) as stream:
        stream.write(written.getvalue())


def escaped(text):
    """Return a text that LaTeX sets as it is and obeys nowhere: it comes from files."""
    return "".join(_ESCAPED.get(sign, sign) for sign in text)
