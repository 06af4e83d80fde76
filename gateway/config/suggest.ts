/** Maximum length of names that are compared: the cost is the product of both lengths. */
const MAX_LENGTH = 60;

/** `; did you mean timeoutMs?` if a known name is similar to the given one, else an empty string. */
export function suggest(given: string, known: readonly string[]): string {
  if (given.length > MAX_LENGTH) return '';
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.ceil(given.length / 3)) + 1;
  for (const name of known) {
    const candidateDistance = name.toLowerCase().startsWith(given.toLowerCase())
      ? 1
      : distance(given.toLowerCase(), name.toLowerCase());
    if (candidateDistance < bestDistance) [best, bestDistance] = [name, candidateDistance];
  }
  return best === undefined ? '' : `; did you mean ${best}?`;
}

/** Levenshtein's edit distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
