import { normalise } from '../../gateway/normalise/normalise.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';

export function specOf(name: string): MethodSpec {
  const spec = methods.find((method) => method.name === name);
  if (spec === undefined) throw new Error(`${name} is not of the specification`);
  return spec;
}

/** What becomes of a node's result. */
export function ofResult(method: string, result: unknown, params: readonly unknown[] = []): Outcome {
  return normalise(specOf(method), params, { kind: 'result', result });
}

/** What becomes of a node's error. */
export function ofError(method: string, code: number, message: string, data?: unknown): Outcome {
  return normalise(specOf(method), [], { kind: 'error', code, message, data });
}

/** The caller gets this result. */
export function rpcResponse(result: unknown): Outcome {
  return { final: true, response: { kind: 'result', result } };
}

/** The caller gets this error. */
export function error(code: number, message: string, data?: string): Outcome {
  return { final: true, response: { kind: 'error', code, message, data } };
}

/** Another upstream is asked. */
export function elsewhere(failure: FailureClass): object {
  return { final: false, failure };
}

/** 32 bytes of one digit. */
export function hash(digit: string): string {
  return `0x${digit.repeat(64)}`;
}

/** Digits as 32 bytes. */
export function word(digits: string): string {
  return `0x${digits.padStart(64, '0')}`;
}
