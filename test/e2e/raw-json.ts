/** The items of a JSON array as they are written. @param text valid JSON of an array */
export function rawItems(text: string): string[] {
  return partsOf(text).map(([from, to]) => text.slice(from, to).trim());
}

/** The members of a JSON object, values as they are written, duplicates too. @param text valid JSON of an object */
export function rawMembers(text: string): [name: string, value: string][] {
  return partsOf(text).map(([from, to]) => {
    const start = text.indexOf('"', from);
    const colon = text.indexOf(':', endOfString(text, start));
    return [JSON.parse(text.slice(start, endOfString(text, start))) as string, text.slice(colon + 1, to).trim()];
  });
}

/** Ranges between the commas of the outermost array or object. */
function partsOf(text: string): [from: number, to: number][] {
  const parts: [number, number][] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === '[' || character === '{') {
      if (++depth === 1) from = at + 1;
    } else if (character === ']' || character === '}') {
      if (--depth === 0 && text.slice(from, at).trim() !== '') parts.push([from, at]);
    } else if (character === ',' && depth === 1) {
      parts.push([from, at]);
      from = at + 1;
    }
  }
  return parts;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
