import { hash } from 'node:crypto';
import type { MethodSpec } from '../spec/method-spec.ts';
import { comparedFields } from '../spec/methods.generated.ts';
import type { AuditedResponse } from './compare-responses.ts';

/** The SHA-256 of what is compared of a response, in hexadecimal. */
export function answerHash({ resultType = '' }: MethodSpec, response: AuditedResponse): string {
  const compared =
    response.kind === 'error' ? String(response.data).toLowerCase() : compactOf(response.result, resultType);
  return hash('sha256', JSON.stringify(compared), 'hex');
}

/** The compared fields in one order and spelling, without those that are missing. */
function compactOf(value: unknown, type: string): unknown {
  if (typeof value === 'string') return value.toLowerCase();
  if (Array.isArray(value)) return value.map((element) => compactOf(element, type));
  if (typeof value !== 'object' || value === null) return value;
  const fields = comparedFields[type];
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(fields ?? members).filter((name) => members[name] !== undefined && members[name] !== null);
  return names.sort().map((name) => [name, compactOf(members[name], fields?.[name] ?? '')]);
}
