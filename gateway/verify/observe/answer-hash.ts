import { isObject } from '../../collections/is-object.ts';
import { hash } from 'node:crypto';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { comparedFields } from '../../spec/methods.generated.ts';
import { isMissing, withoutZeros, type AuditedResponse } from './compare-responses.ts';

/**
 * The SHA-256 of what is compared of a response, in hexadecimal.
 * @param others the responses with which it was compared: what one of them lacks is not compared
 */
export function answerHash(
  { resultType = '', shape }: MethodSpec,
  response: AuditedResponse,
  others: readonly AuditedResponse[],
): string {
  if (response.kind === 'error') return hashOf(String(response.data).toLowerCase());
  const { result } = response;
  const isLoose = shape === undefined && typeof result === 'object';
  const peers = others.flatMap((other) => (other.kind === 'result' ? [other.result] : []));
  return hashOf(compactOf(result, peers, resultType, isLoose));
}

function hashOf(compared: unknown): string {
  return hash('sha256', JSON.stringify(compared), 'hex');
}

/** The compared fields in one order and spelling. @param peers the values at this place in other responses */
function compactOf(value: unknown, peers: readonly unknown[], type: string, isLoose: boolean): unknown {
  if ([value, ...peers].some(isMissing)) return null;
  if (typeof value === 'string') return isLoose ? withoutZeros(value.toLowerCase()) : value.toLowerCase();
  if (Array.isArray(value)) {
    const arrays = peers.filter((peer) => Array.isArray(peer));
    return value.map((element, at) => {
      const longer = arrays.filter(({ length }) => length > at);
      return compactOf(
        element,
        longer.map((array) => array[at] as unknown),
        type,
        isLoose,
      );
    });
  }
  if (!isObject(value)) return value;
  const objects = peers.filter(isObject);
  const fields = comparedFields[type];
  const names = Object.keys(fields ?? value).filter((name) => ![value, ...objects].some((one) => isMissing(one[name])));
  return names.sort().map((name) => {
    const inPeers = objects.map((object) => object[name]);
    return [name, compactOf(value[name], inPeers, fields?.[name] ?? '', isLoose)];
  });
}
