/** In valid JSON, a match is a member of the outermost object: it is at the start or at the end of the text. */
const atStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*[,}]/;
const atEnd = /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*\}\s*$/;
const SCANNED_BYTES = 100;

/**
 * The id of the call that a WebSocket message responds to. The gateway's ids are numbers; some nodes return them as
 * strings. Nearly every node writes the id first or last, where it is found without parsing a large result.
 * @returns undefined: JSON without an id, as in errors about malformed requests
 */
export function responseId(bytes: Buffer): number | 'notification' | 'not-json' | undefined {
  const found =
    atStart.exec(bytes.toString('latin1', 0, SCANNED_BYTES)) ??
    atEnd.exec(bytes.toString('latin1', Math.max(0, bytes.length - SCANNED_BYTES)));
  return found === null ? parseId(bytes.toString('utf8')) : Number(found[1]);
}

function parseId(text: string): number | 'notification' | 'not-json' | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return 'not-json';
  }
  if (typeof message !== 'object' || message === null) return undefined;
  if ('method' in message) return 'notification';
  const { id } = message as { id?: unknown };
  if (id === undefined || id === null) return undefined;
  return typeof id === 'number' ? id : Number(id);
}
