import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isMap, isPair, isScalar, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { packageRoot } from '../config/package.ts';
import { expandVariables } from './expand-variables.ts';
import type { LoadOptions } from './load-networks.ts';
import type { NetworkConfig, UpstreamConfig } from './network-config.ts';
import { selectMethods } from './select-methods.ts';
import { suggest } from './suggest.ts';

type Path = readonly (string | number)[];

/** Something wrong at a place of a file. */
export interface Mistake {
  readonly path: Path;
  readonly message: string;
  /** The mistake is the member's name, not its value. */
  readonly atName?: boolean;
}

interface NetworkFile {
  readonly name: string;
  readonly chainId: number;
  readonly baseUrls?: readonly string[];
  readonly methods?: readonly string[];
  readonly upstreams: readonly UpstreamConfig[];
}

const DEFAULT_METHODS = ['eth', 'net', 'web3'];

/** @returns the network, or its mistakes as lines with file, line and column */
export function readNetwork(slug: string, file: string, text: string, options: LoadOptions): NetworkConfig | string[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const locate = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  if (document.errors.length > 0) {
    return document.errors.map(
      (error) => `${locate(error.pos[0])} ${error.message.split('\n')[0]?.replace(/ at line.*$/, '') ?? ''}`,
    );
  }
  const value: unknown = document.toJS();
  if (!validate(value)) {
    const mistakes = (validate.errors ?? []).filter(isTelling).map(explain);
    return mistakes.map((mistake) => `${locate(offsetOf(document, mistake))} ${mistake.message}`);
  }
  const { mistakes, network } = complete(slug, value as NetworkFile, options);
  if (mistakes.length === 0) return network;
  return mistakes.map((mistake) => `${locate(offsetOf(document, mistake))} ${mistake.message}`);
}

/** What a schema cannot check: method names, variables, names used twice. */
function complete(
  slug: string,
  file: NetworkFile,
  options: LoadOptions,
): { mistakes: Mistake[]; network: NetworkConfig } {
  const mistakes: Mistake[] = [];
  const methods = selectMethods(file.methods ?? DEFAULT_METHODS, options.knownMethods, mistakes);
  const names = new Set<string>();
  const upstreams = file.upstreams.map((upstream, index) => {
    if (names.has(upstream.name)) {
      mistakes.push({ path: ['upstreams', index, 'name'], message: `upstreams[${index}].name is used twice` });
    }
    names.add(upstream.name);
    return expandVariables(upstream, ['upstreams', index], options.env, mistakes);
  });
  return {
    mistakes,
    network: { slug, name: file.name, chainId: file.chainId, baseUrls: file.baseUrls ?? [], methods, upstreams },
  };
}

const validate: ValidateFunction = new Ajv2020({ allErrors: true, verbose: true, strict: true }).compile(
  JSON.parse(readFileSync(join(packageRoot, 'schemas/network.schema.json'), 'utf8')) as object,
);

/** Ajv tells a failed `oneOf` and a failed property name twice. */
function isTelling(error: ErrorObject): boolean {
  if (error.keyword === 'required' && error.schemaPath.includes('/oneOf/')) return false;
  return error.keyword !== 'propertyNames';
}

function explain(error: ErrorObject): Mistake {
  const path = pathOf(error.instancePath);
  const parent = error.parentSchema as { title?: string; properties?: Record<string, unknown> };
  if (error.keyword === 'additionalProperties') {
    const name = (error.params as { additionalProperty: string }).additionalProperty;
    const known = suggest(name, Object.keys(parent.properties ?? {}));
    return { path: [...path, name], atName: true, message: `${write([...path, name])} is not known${known}` };
  }
  if (error.keyword === 'required') {
    const name = (error.params as { missingProperty: string }).missingProperty;
    return { path, message: `${write([...path, name])} is missing` };
  }
  if (error.keyword === 'oneOf') return { path, message: `${write(path)}: expected either url or spawn` };
  if (error.keyword === 'uniqueItems') return { path, message: `${write(path)}: the same entry stands twice` };
  return { path, message: `${write(path)}: expected ${parent.title ?? 'another value'}` };
}

function pathOf(pointer: string): (string | number)[] {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/** `upstreams[0].name` */
function write(path: Path): string {
  if (path.length === 0) return 'the file';
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('');
}

function offsetOf(document: Document, mistake: Mistake): number {
  const parent = document.getIn(mistake.path.slice(0, -1), true);
  const last = mistake.path.at(-1);
  if (mistake.atName === true && isMap(parent)) {
    const pair = parent.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === last);
    if (isScalar(pair?.key)) return pair.key.range?.[0] ?? 0;
  }
  const node = (mistake.path.length === 0 ? document.contents : document.getIn(mistake.path, true)) as Node | null;
  return node?.range?.[0] ?? 0;
}
