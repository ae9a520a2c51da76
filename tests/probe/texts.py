"""Texts for the tests, written for them."""

from __future__ import annotations

import random

LIGHTHOUSE = (
    "O faroleiro da ilha guardava seis lanternas verdes no porão, e em toda noite de neblina escolhia apenas a menor "
    "delas. O sobrinho, que viera do continente para aprender o ofício, achava o costume estranho: quanto mais "
    "espesso o nevoeiro, dizia ele, maior deveria ser a chama. O velho respondia que lanterna grande cega quem "
    "segura, e que os barcos conheciam aquela luz miúda pelo ritmo, nunca pelo tamanho."
)
TRAM = (
    "Quando o bonde amarelo parou na ladeira, ninguém reclamou, pois todos sabiam que o gato do condutor dormia sobre "
    "os trilhos depois do almoço. Uma professora aproveitou para corrigir cadernos; dois pedreiros dividiram "
    "laranjas. Dali a meia hora o bicho espreguiçou-se, olhou os passageiros com desdém e cedeu a passagem, como quem "
    "concede um favor muito caro."
)
BAKERY = (
    "A padaria da esquina vende pão de milho às terças e bolo de fubá aos sábados, mas a dona guarda as broas de "
    "erva-doce para os fregueses que chegam antes do apito da fábrica. Certa manhã apareceu um fiscal, provou três, "
    "multou duas balanças tortas e levou uma dúzia embrulhada em jornal. Desde então as broas têm nome de santo e "
    "preço de ouro."
)
GARDEN = (
    "No quintal de dona Eulália crescem couves tão altas que os netos brincam de floresta entre os talos. Ela rega "
    "tudo com água de arroz, conversa com as abóboras e proíbe assobios perto dos tomateiros, porque jura que azedam. "
    "O agrônomo da prefeitura mediu a terra, coçou a cabeça e pediu mudas para a própria mulher."
)
ALL = {"farol": LIGHTHOUSE, "bonde": TRAM, "padaria": BAKERY, "quintal": GARDEN}


def _several(text: str) -> list[str]:
    return text.split(";")


_NOUNS = _several(
    "costureira;relojoeiro;madrinha;violeiro;telefonista;alfaiate;sineiro;parteira;boticário;lavadeira;carteiro;"
    "sanfoneiro;rezadeira;engraxate;florista;maquinista;tecelã;pescador;barbeiro;quitandeira"
)
_THINGS = _several(
    "chafariz;realejo;moringa;tamborete;lampião;cadeado;bandolim;guarda-chuva;baú;peneira;espelho;calendário;"
    "candeeiro;tapete;sanfona;gaiola;bigorna;ampulheta;carroça;vitrola;chaleira;novelo;biombo"
)
_VERBS = _several(
    "consertou;vendeu;escondeu;pintou;emprestou;carregou;lustrou;desmontou;trocou;herdou;rifou;embrulhou;enterrou;"
    "mediu;pesou;costurou;amarrou;devolveu"
)
_PLACES = _several(
    "na estação abandonada;atrás da capela azul;sob a mangueira torta;diante do armazém;perto da ponte velha;junto ao "
    "cais;no sótão do clube;à beira do açude;entre os trilhos;debaixo do coreto;no mercado de peixes;na curva do rio"
)
_WHENS = _several(
    "ao anoitecer;durante a enchente;num domingo de garoa;antes da missa;depois do almoço;na véspera da feira;em pleno "
    "carnaval;quando faltou luz;com a banda tocando;no inverno passado;sem avisar ninguém;por teimosia"
)
_LOOKS = _several(
    "amarelo;torto;enferrujado;minúsculo;barulhento;antigo;listrado;remendado;cintilante;pesado;roxo;oco"
)


def made_up(count: int, first: int = 0) -> dict[str, str]:
    """So many small stories, by id, whose words are common to all and whose sentences are each story's own."""
    return {f"conto-{number:04}": _story(random.Random(number)) for number in range(first, first + count)}


def _story(rng: random.Random) -> str:
    told = []
    for _ in range(4):
        who, other = rng.sample(_NOUNS, 2)
        thing, third = rng.sample(_THINGS, 2)
        first, then = rng.sample(_VERBS, 2)
        told.append(
            f"{rng.choice(_WHENS).capitalize()}, {who} {first} um {thing} {rng.choice(_LOOKS)} {rng.choice(_PLACES)}, "
            f"e {other} {then} {rng.choice(('dois', 'três', 'cinco', 'nove'))} vezes o {third} {rng.choice(_LOOKS)}."
        )
    return " ".join(told)
