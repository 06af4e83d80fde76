import type { MethodSpec } from '../gateway/spec/method-spec.ts';
import { refTo, type Types } from './json-schema.ts';
import { objectInResult } from './result-object.ts';
import type { MethodSource } from './read-sources.ts';

const typesWithBlock = ['BlockParameter', 'BlockNumberOrTag', 'LogFilter'].map(refTo);

/**
 * The first parameter with a block: a block parameter, or a filter with block fields. EIP-1898 defines its block parameter
 * for methods that read state; nodes also accept it in methods that list a block's contents.
 */
export function blockPlace(method: MethodSource, types: Types): MethodSpec['blockAt'] {
  const param = method.params.findIndex(({ schema }) => typesWithBlock.includes(schema.$ref ?? ''));
  if (param === -1) return undefined;
  const isList = ['Log', 'Receipt', 'AccountAccess'].includes(objectInResult(method, types) ?? '');
  const readsState = method.params[param]?.schema.$ref === refTo('BlockParameter') && !isList;
  return { param, ...(readsState && { readsState: true }) };
}
