import { isObject } from '../../collections/is-object.ts';

/** From this size on, checking the bytes of a response is cheaper than parsing it (bench/steps.ts). */
export const LARGE_RESPONSE_BYTES = 8_192;

/*
 * Nearly every node writes the version first and the id first or last. In valid JSON, what matches is of the outermost
 * object, because it is at the start or at the end of the bytes. Some nodes write the id as a string.
 */
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*`;
const ID = String.raw`"id"\s*:\s*"?(\d{1,15})"?\s*`;
const head = new RegExp(
  String.raw`^\s*\{\s*(?:${VERSION},\s*)?(?:${ID}(?:,|(?=\}))\s*)?(?:${VERSION},\s*)?("result"\s*:\s*)?`,
);
const tail = new RegExp(String.raw`(?:,\s*${VERSION})?(?:,\s*${ID})?\}\s*$`);
/** The longest envelope that is found without parsing. */
const ENVELOPE_BYTES = 100;

/**
 * The result in a response, as bytes that are not checked: the caller must do that.
 * @returns undefined if the envelope is unusual, or has the id of another call
 */
export function findResult(body: Buffer, id: number): Buffer | undefined {
  const start = headOf(body);
  const end = tailOf(body);
  if (start?.[2] === undefined || end === null || (start[1] ?? end[1]) !== String(id)) return undefined;
  return body.subarray(start[0].length, body.length - end[0].length);
}

/**
 * The start of a response with a result that flows.
 * @returns the position of the result, and whether the id was before it; undefined: the start is unusual, or has the id of
 * another call
 */
export function findResultStart(
  body: Buffer,
  id: number,
): { readonly at: number; readonly isIdRead: boolean } | undefined {
  const start = headOf(body);
  if (start?.[2] === undefined || (start[1] !== undefined && start[1] !== String(id))) return undefined;
  return { at: start[0].length, isIdRead: start[1] !== undefined };
}

/** `error: null`, `false`, `""` and `{}` beside a result are not errors. */
export function isMeaningful(error: unknown): boolean {
  return (typeof error === 'string' && error !== '') || (isObject(error) && Object.keys(error).length > 0);
}

/**
 * The id of the call that a response is for. The gateway's ids are numbers.
 * @returns undefined: JSON without an id, as in errors about malformed requests
 */
export function responseId(body: Buffer): number | 'notification' | 'not-json' | undefined {
  const id = headOf(body)?.[1] ?? tailOf(body)?.[1];
  return id === undefined ? parseId(body.toString('utf8')) : Number(id);
}

function headOf(body: Buffer): RegExpExecArray | null {
  return head.exec(body.toString('latin1', 0, ENVELOPE_BYTES));
}

function tailOf(body: Buffer): RegExpExecArray | null {
  return tail.exec(body.toString('latin1', Math.max(0, body.length - ENVELOPE_BYTES)));
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
