import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { ResultCheck } from '../spec/result-check.ts';
import type { LargeResponse, ResultResponse, UpstreamResponse } from './transport/upstream-response.ts';
import type { Upstream } from './upstream.ts';

export interface InspectOptions {
  readonly checkResult: ResultCheck;
  readonly log: Log;
}

/**
 * Parsing and checking a larger result would block the event loop for too long. At 20 MB of hexadecimal digits, the pattern
 * of bytes can overflow the stack.
 */
const MAX_INSPECTED_BYTES = 250_000;

/** Checks a sample of the results against the spec, after the response is sent: a full block takes milliseconds. */
export function inspectIfDue(
  upstream: Upstream,
  method: string,
  response: UpstreamResponse,
  now: number,
  options: InspectOptions,
): void {
  if (response.kind === 'error') return;
  if (bytesOf(response) > MAX_INSPECTED_BYTES) return;
  if (upstream.sampler.takeIfDue(method, now)) clock.setImmediate(inspect, upstream, method, response, options);
}

/** Bytes of the JSON text. */
function bytesOf(response: ResultResponse | LargeResponse): number {
  if (response.kind === 'large') return response.parts.reduce((sum, { length }) => sum + length, 0);
  return response.text?.length ?? Infinity;
}

function inspect(
  upstream: Upstream,
  method: string,
  response: ResultResponse | LargeResponse,
  { checkResult, log }: InspectOptions,
): void {
  const result = response.kind === 'large' ? (JSON.parse(response.parts.join('')) as unknown) : response.result;
  const detail = checkResult(method, result);
  if (detail === undefined) return;
  upstream.metrics.deviated(method);
  log.debug({ upstream: upstream.name, method, detail }, 'result differs from the spec');
}
