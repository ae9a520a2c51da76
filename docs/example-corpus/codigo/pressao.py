"""Rascunho de um gerador de exercícios sobre medidas do corpo, para a feira de ciências."""

# Enunciado que a Tainá copiou do caderno, para virar a pergunta 4:
#
# Rosalva tomou o remédio para pressão às sete da manhã e, à noite, mediu a pressão com o
# mesmo aparelho usado antes do café. Pelo que foi informado, em quanto caiu a pressão
# máxima?
#
# Pendente: inventar as medidas e sortear as alternativas.


def media(medidas: list[float]) -> float:
    """A média das medidas anotadas pela turma."""
    return sum(medidas) / len(medidas)
