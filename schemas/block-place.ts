import type { MethodSpec } from '../gateway/spec/method-spec.ts';
import { refTo, type Types } from './json-schema.ts';
import { objectInResult } from './result-object.ts';
import type { MethodSource } from './read-sources.ts';

const holders = ['BlockParameter', 'BlockNumberOrTag', 'LogFilter'].map(refTo);

/**
 * The first parameter that names a block, or has fields that do. EIP-1898 made its block parameter for the methods that
 * read state; nodes take it in those that list a block's contents as well.
 */
export function blockPlace(method: MethodSource, types: Types): MethodSpec['blockAt'] {
  const param = method.params.findIndex(({ schema }) => holders.includes(schema.$ref ?? ''));
  if (param === -1) return undefined;
  const isList = ['Log', 'Receipt'].includes(objectInResult(method, types) ?? '');
  const readsState = method.params[param]?.schema.$ref === refTo('BlockParameter') && !isList;
  return { param, ...(readsState && { readsState: true }) };
}
