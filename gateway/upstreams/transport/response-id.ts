/** In valid JSON, what matches stands at the outermost level: nothing comes before it, or nothing but the end after it. */
const atStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*[,}]/;
const atEnd = /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*\}\s*$/;
const SCANNED_BYTES = 100;

/**
 * Which call a message over a WebSocket is the reply to. Our ids are numbers; some nodes send them back as strings.
 * Nearly every node puts the id first or last, where it is found without parsing a large result for it.
 * @returns undefined where no id is given, as in errors about what could not be read
 */
export function responseId(bytes: Buffer): number | 'notification' | undefined {
  const found =
    atStart.exec(bytes.toString('latin1', 0, SCANNED_BYTES)) ??
    atEnd.exec(bytes.toString('latin1', Math.max(0, bytes.length - SCANNED_BYTES)));
  return found === null ? parseId(bytes.toString('utf8')) : Number(found[1]);
}

function parseId(text: string): number | 'notification' | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof message !== 'object' || message === null) return undefined;
  if ('method' in message) return 'notification';
  const { id } = message as { id?: unknown };
  if (id === undefined || id === null) return undefined;
  return typeof id === 'number' ? id : Number(id);
}
