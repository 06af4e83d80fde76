export type Json = string | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A difference between a node's outcome and the gateway's that the contract requires. */
export interface AllowedDifference {
  /** Names of methods; undefined: all methods. */
  readonly methods?: readonly string[];
  /** Matches the path of the value, for example `.transactions[].r`. */
  readonly at: RegExp;
  /** Check of both values; undefined: one is absent. */
  fits(node: Json | undefined, gateway: Json | undefined): boolean;
  readonly reason: string;
}

interface Difference {
  readonly path: readonly (string | number)[];
  readonly node: Json | undefined;
  readonly gateway: Json | undefined;
}

const NUMBER_OR_STRING = /("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/**
 * Every difference that is not allowed, as a sentence. After allowed differences are removed, both outcomes must be equal
 * byte for byte, including the order of members.
 * @param used gets the allowed differences that were found
 */
export function findDifferences(
  method: string,
  node: string,
  gateway: string,
  allowed: readonly AllowedDifference[],
  used: Set<AllowedDifference>,
): string[] {
  if (node === gateway) return [];
  const applicable = allowed.filter(({ methods }) => methods?.includes(method) ?? true);
  const [nodeValue, gatewayValue] = [valueOf(node), valueOf(gateway)];
  const sentences: string[] = [];
  for (const difference of differencesOf(nodeValue, gatewayValue)) {
    const at = textOf(difference.path);
    const row = applicable.find((one) => one.at.test(at) && one.fits(difference.node, difference.gateway));
    if (row === undefined) sentences.push(`${at}: ${show(difference.node)} became ${show(difference.gateway)}`);
    else used.add(row);
    removeDifference(nodeValue, gatewayValue, difference);
  }
  const [nodeText, gatewayText] = [JSON.stringify(nodeValue), JSON.stringify(gatewayValue)];
  if (nodeText !== gatewayText) sentences.push(`the order of members: ${nodeText} became ${gatewayText}`);
  return sentences;
}

/** `{ result: … }` or `{ error: … }`, with numbers as text, so that no digits are lost. */
function valueOf(outcome: string): Json {
  const [kind = ''] = outcome.split(' ', 1);
  if (kind !== 'result' && kind !== 'error') return { other: outcome };
  const lossless = outcome
    .slice(kind.length + 1)
    .replace(NUMBER_OR_STRING, (_, text: string | undefined, number: string) => text ?? `"number ${number}"`);
  return { [kind]: JSON.parse(lossless) as Json };
}

function differencesOf(node: Json, gateway: Json, path: readonly (string | number)[] = []): Difference[] {
  if (isArray(node) && isArray(gateway) && node.length === gateway.length) {
    return node.flatMap((item, index) => differencesOf(item, gateway[index] as Json, [...path, index]));
  }
  if (isObject(node) && isObject(gateway)) {
    const names = [...new Set([...Object.keys(node), ...Object.keys(gateway)])];
    return names.flatMap((name) => {
      const [left, right] = [node[name], gateway[name]];
      const at = [...path, name];
      return left === undefined || right === undefined
        ? [{ path: at, node: left, gateway: right }]
        : differencesOf(left, right, at);
    });
  }
  return node === gateway ? [] : [{ path, node, gateway }];
}

/** Removes the value if only one side has it. Otherwise copies the node's value to the gateway's side. */
function removeDifference(nodeRoot: Json, gatewayRoot: Json, { path, node, gateway }: Difference): void {
  const name = path.at(-1) as string;
  const parentOf = (root: Json): Record<string, Json> =>
    path.slice(0, -1).reduce<Json>((value, step) => (value as Record<string, Json>)[step] as Json, root) as Record<
      string,
      Json
    >;
  if (gateway === undefined) Reflect.deleteProperty(parentOf(nodeRoot), name);
  else if (node === undefined) Reflect.deleteProperty(parentOf(gatewayRoot), name);
  else parentOf(gatewayRoot)[name] = node;
}

function textOf(path: readonly (string | number)[]): string {
  return path.map((step) => (typeof step === 'number' ? '[]' : `.${step}`)).join('');
}

function show(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 200);
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !isArray(value);
}
