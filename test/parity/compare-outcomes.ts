export type Json = string | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A difference between a node's outcome and the gateway's that the contract asks for. */
export interface AllowedDifference {
  /** Undefined: of any method. */
  readonly methods?: readonly string[];
  /** Of the path of the value, as `.transactions[].r`. */
  readonly at: RegExp;
  /** Undefined: the value is absent. */
  fits(node: Json | undefined, gateway: Json | undefined): boolean;
  readonly reason: string;
  /** Met on the chain of execution-apis only. */
  readonly needsSuite?: true;
}

interface Difference {
  readonly path: readonly (string | number)[];
  readonly node: Json | undefined;
  readonly gateway: Json | undefined;
}

const NUMBER_OR_STRING = /("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/**
 * Every difference that is not allowed, as a sentence. What is left after the allowed ones are undone must be equal byte
 * for byte, the order of members included.
 * @param used gets the allowed differences that were met
 */
export function findDifferences(
  method: string,
  node: string,
  gateway: string,
  allowed: readonly AllowedDifference[],
  used: Set<AllowedDifference>,
): string[] {
  if (node === gateway) return [];
  const ours = allowed.filter(({ methods }) => methods?.includes(method) ?? true);
  const [nodeValue, gatewayValue] = [valueOf(node), valueOf(gateway)];
  const sentences: string[] = [];
  for (const difference of differencesOf(nodeValue, gatewayValue)) {
    const at = textOf(difference.path);
    const row = ours.find((one) => one.at.test(at) && one.fits(difference.node, difference.gateway));
    if (row === undefined) sentences.push(`${at}: ${show(difference.node)} became ${show(difference.gateway)}`);
    else used.add(row);
    undo(nodeValue, gatewayValue, difference);
  }
  const [nodeText, gatewayText] = [JSON.stringify(nodeValue), JSON.stringify(gatewayValue)];
  if (nodeText !== gatewayText) sentences.push(`the order of members: ${nodeText} became ${gatewayText}`);
  return sentences;
}

/** `{ result: … }` or `{ error: … }`, with numbers as their text, so that none loses digits. */
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

/** Removes what one side alone has, and gives the gateway's side the node's value of what both have. */
function undo(nodeRoot: Json, gatewayRoot: Json, { path, node, gateway }: Difference): void {
  const name = path.at(-1) as string;
  const keySessions = (root: Json): Record<string, Json> =>
    path.slice(0, -1).reduce<Json>((value, step) => (value as Record<string, Json>)[step] as Json, root) as Record<
      string,
      Json
    >;
  if (gateway === undefined) Reflect.deleteProperty(keySessions(nodeRoot), name);
  else if (node === undefined) Reflect.deleteProperty(keySessions(gatewayRoot), name);
  else keySessions(gatewayRoot)[name] = node;
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
