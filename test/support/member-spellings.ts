/**
 * Another spelling of a member name that geth accepts as the same name (Go, encoding/json, fold.go), as JSON text. Letters
 * change case, U+017F replaces s, U+212A replaces k, and characters are escaped.
 * @param flips three per character: change the letter, use the special letter, escape the character
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

/** The value that geth reads: that of the last member with a matching spelling. */
export function readAsGeth(members: Iterable<readonly [string, unknown]>, name: string): unknown {
  // With the flags i and u, JavaScript uses Unicode case folding, as Go does.
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
