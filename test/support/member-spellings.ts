/**
 * Another spelling of a member's name that geth reads as the same (Go, encoding/json, fold.go), as JSON text: letters in
 * the other case, U+017F for s, U+212A for k, characters escaped.
 * @param flips at least three for each character: which of that is done
 */
export function anotherCase(name: string, flips: readonly boolean[]): string {
  const spelled = Array.from(name, (letter, index) => {
    const [isOther = false, isSpecial = false] = flips.slice(3 * index);
    return isOther ? otherCase(letter, isSpecial) : letter;
  });
  if (spelled.join('') === name) spelled[0] = otherCase(name[0] ?? '', false);
  const escaped = spelled.map((letter, index) => (flips[3 * index + 2] === true ? escape(letter) : letter));
  return `"${escaped.join('')}"`;
}

/** The value that geth reads: of all members that it takes for this one, the last. */
export function readAsGeth(members: Iterable<readonly [string, unknown]>, name: string): unknown {
  // With both flags, JavaScript folds as Unicode does, which is what Go does.
  const same = new RegExp(`^${name}$`, 'iu');
  let read: unknown;
  for (const [spelled, value] of members) if (same.test(spelled)) read = value;
  return read;
}

function otherCase(letter: string, isSpecial: boolean): string {
  if (isSpecial && letter === 's') return '\u017f';
  if (isSpecial && letter === 'k') return '\u212a';
  return letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
}

function escape(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
