"""How much a word tells, by the text of an index: what chooses the rarest sentence where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lacre.overlap.information import is_number_or_mark

if TYPE_CHECKING:
    from lacre.overlap.sheets import Sheets

PRIOR_WORDS = 1_000_000
"""Words of general Portuguese that are taken to stand beside the index's own, so that a small index misleads nobody
(a Dirichlet prior; MacKay and Peto 1995)."""


def rarity(sheets: Sheets, counts: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.float32]:
    """The information of each word of ``sheets`` in bits, shape (words,).

    ``counts``: how often each stands in an index of ``total`` words. Numbers, letters and roman numerals tell what
    they always tell: any of them fits a template.
    """
    general = np.exp2(-sheets.bits.astype(np.float64))
    shares = (counts + PRIOR_WORDS * general) / (total + PRIOR_WORDS)
    fixed = np.array([is_number_or_mark(word) for word in sheets.vocabulary], np.bool_)[sheets.kinds]
    return np.where(fixed, sheets.bits, -np.log2(shares)).astype(np.float32)
