// What a search finds first: pages whose title has the word, then names of the reference, then texts.
window.Scorer = {
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 5, 1: 0, 2: -5 },
    objPrioDefault: 0,
    title: 60,
    partialTitle: 60,
    term: 5,
    partialTerm: 2,
};
