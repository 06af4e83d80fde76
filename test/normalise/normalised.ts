import { normalise } from '../../gateway/normalise/normalise.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';
import { passThroughSpec } from '../../gateway/spec/method-facts.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';

export function specOf(name: string): MethodSpec {
  const spec = methods.find((method) => method.name === name);
  if (spec === undefined && name.startsWith('eth_')) throw new Error(`the specification has no method ${name}`);
  return spec ?? passThroughSpec(name);
}

/** The outcome of an upstream's result. */
export function ofResult(method: string, result: unknown, params: readonly unknown[] = []): Outcome {
  return normalise(specOf(method), params, { kind: 'result', result });
}

/** The outcome of an upstream's error. */
export function ofError(method: string, code: number, message: string, data?: unknown): Outcome {
  return normalise(specOf(method), [], { kind: 'error', code, message, data });
}

/** A final outcome with this result. */
export function finalResult(result: unknown): Outcome {
  return { final: true, response: { kind: 'result', result } };
}

/** A final outcome with this error. */
export function finalError(code: number, message: string, data?: string): Outcome {
  return { final: true, response: { kind: 'error', code, message, data } };
}

/** An upstream failure: the call goes to another upstream. */
export function failed(failure: FailureClass): object {
  return { final: false, failure };
}

/** 32 bytes that repeat one digit. */
export function hash(digit: string): string {
  return `0x${digit.repeat(64)}`;
}

/** Digits padded to 32 bytes. */
export function word(digits: string): string {
  return `0x${digits.padStart(64, '0')}`;
}
