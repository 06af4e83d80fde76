import { UpstreamFailure, type FailureClass, type Reply } from './reply.ts';

/**
 * Reads an HTTP reply. The body counts before the status: nodes send valid errors with 4xx and rate limits with 200.
 * Bodies without an envelope, as providers send them on 429 and 5xx, count as errors too.
 * @param id the id that was sent
 * @throws UpstreamFailure when it holds no reply to this call
 */
export function readReply(status: number, text: string, id: number): Reply {
  const body = parse(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw statusFailure(status);
  const { error, result, code, message } = body as Record<string, unknown>;
  if (error !== undefined && error !== null) {
    checkId(body, id, true);
    return readError(error, status);
  }
  if (result !== undefined) {
    checkId(body, id, false);
    return { kind: 'result', result };
  }
  if (typeof code === 'number' && typeof message === 'string') return readError(body, status);
  throw statusFailure(status);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Errors often come with id null; some nodes send the number back as a string. A result must name its call. */
function checkId(body: object, id: number, isError: boolean): void {
  const given = (body as { id?: unknown }).id;
  if (given === id || given === String(id)) return;
  if (isError && (given === null || given === undefined)) return;
  throw new UpstreamFailure('malformed', 'the reply has the id of another call');
}

function readError(error: unknown, status: number): Reply {
  if (typeof error === 'string') return { kind: 'error', code: codeFor(status), message: error, data: undefined };
  const { code, message, data } = error as Record<string, unknown>;
  return {
    kind: 'error',
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : codeFor(status),
    message: typeof message === 'string' ? message : '',
    data,
  };
}

/** For errors without a code of their own: the status where it is one of the limits', which rules know by code. */
function codeFor(status: number): number {
  return status === 429 || status === 402 || status === 503 ? status : -32000;
}

const classOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'auth',
  402: 'quota',
  403: 'auth',
  408: 'transport',
  413: 'too-large',
  429: 'rate',
};

function statusFailure(status: number): UpstreamFailure {
  const failure = classOfStatus[status] ?? (status >= 500 ? 'transport' : 'malformed');
  return new UpstreamFailure(failure, `HTTP ${status} without a JSON-RPC reply`);
}
