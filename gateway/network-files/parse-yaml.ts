import type * as Yaml from 'yaml';
import type { Document, Node, Pair, YAMLMap } from 'yaml';
import { loadPackage } from '../config/load-package.ts';
import type { Diagnostic, Path } from './diagnostics.ts';

/** A message with its position in the text. */
export interface Located {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** The position is in defaults.yaml, although the message is about a network. */
  readonly isInDefaults?: true;
  /** Path of a value in defaults.yaml: an error only if all networks that have the value from there have the error. */
  readonly ofAllWith?: Path;
}

export interface ParsedYaml {
  /** The value as in JSON; undefined if the text is not valid YAML. */
  readonly value: unknown;
  readonly diagnostics: readonly Located[];
  readonly locate: (diagnostic: Diagnostic) => Located;
}

/** Package that is loaded with the first file: commands that read none start sooner. */
const yaml = (): typeof Yaml => loadPackage('yaml') as typeof Yaml;

/** A hand-written network file has a few kilobytes. */
export const MAX_FILE_BYTES = 256 * 1024;
export const TOO_LARGE = `the file is larger than ${MAX_FILE_BYTES / 1024} kB`;
/** A file has ten levels. The parser recurses for each one: with many thousands, it takes seconds and its stack. */
const MAX_LEVELS = 100;
/** Levels of lists and maps that begin in one line. */
const levelsOfLine = new RegExp(`(?:[-?:][ \\t]+){${MAX_LEVELS}}`);
/** Each alias is resolved by a pass over the document: 20,000 took 12 s. */
const MAX_ALIASES = 200;

/** Replaces the library's messages, which are hard to read and may quote secrets from the file. By error code. */
const messagesByCode: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'the name of an alias is missing after *',
  BAD_DIRECTIVE: 'remove the line that starts with %: no directive is needed',
  BAD_DQ_ESCAPE:
    'a backslash within "…" starts an escape that YAML does not have; within \'…\' it is a plain character',
  BAD_INDENT: 'the indentation does not fit the lines before, or a bracket is not closed',
  BAD_SCALAR_START: 'a value that starts with a special character needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a value with a colon and a space in it needs quotes, or belongs on a line of its own',
  DUPLICATE_KEY: 'this name appears twice in the same map',
  KEY_OVER_1024_CHARS: 'a colon and a space are missing after a name',
  MULTILINE_IMPLICIT_KEY: 'a colon and a space are missing after a name, or a quote is not closed',
  MULTIPLE_DOCS: 'a second document starts here: write one file for each network',
  NON_STRING_KEY: 'a name must be text: put it in quotes',
  RESOURCE_EXHAUSTION: 'the nesting is too deep',
  TAB_AS_INDENT: 'the line is indented with a tab; YAML allows only spaces',
  TAG_RESOLVE_FAILED: 'remove the tag (!…): no tag is needed',
  UNEXPECTED_TOKEN: 'unexpected text at this position',
};

/** Messages for error codes with several causes, by the start of the library's message. */
const messagesByStart: Readonly<Record<string, string>> = {
  'Implicit map keys': 'a colon and a space are missing after a name',
  'Missing closing': 'a quote is not closed',
};

/** Parses YAML 1.2 with anchors, aliases and merge keys (`<<`), and retains the position of each value. */
export function parseYaml(text: string): ParsedYaml {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const at = (offset: number, message: string): Located => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), message };
  };
  const failed = (...diagnostics: Located[]): ParsedYaml => ({
    value: undefined,
    diagnostics,
    locate: () => at(0, ''),
  });
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) return failed(at(0, TOO_LARGE));

  if (isNestedTooDeep(text)) return failed(at(0, messagesByCode['RESOURCE_EXHAUSTION'] ?? ''));
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, merge: true, stringKeys: true });
  // One diagnostic for each line: the parser repeats errors when it cannot recover.
  const byLine = new Map<number, Located>();
  const problems = [...document.errors, ...document.warnings].map(({ code, message, pos }) => ({
    offset: pos[0],
    text: describe(code, message),
  }));
  for (const { offset, text: problemText } of [...problems, ...repeatedNames(document)]) {
    const problem = at(offset, problemText);
    if (!byLine.has(problem.line)) byLine.set(problem.line, problem);
  }
  if (byLine.size > 0) return failed(...byLine.values());
  if (hasTooManyAliases(document)) return failed(at(0, `there are more than ${MAX_ALIASES} aliases (*…)`));
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    JSON.stringify(value); // throws if an alias contains itself
    return { value, diagnostics: [], locate: (diagnostic) => at(offsetOf(document, diagnostic), diagnostic.message) };
  } catch {
    const unresolved = unresolvedAliases(document).map((offset) =>
      at(offset, 'this alias (*…) has no anchor (&…) before it'),
    );
    if (unresolved.length > 0) return failed(...unresolved);
    return failed(at(0, 'there are too many aliases (*…), or an alias contains itself'));
  }
}

/** Whether a text is nested too deep, by its brackets and the marks of a line: with a line for each level it is small. */
export function isNestedTooDeep(text: string): boolean {
  let levels = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    levels = bracket === '[' || bracket === '{' ? levels + 1 : Math.max(0, levels - 1);
    if (levels > MAX_LEVELS) return true;
  }
  return levelsOfLine.test(text);
}

/** The names that a map has twice. The library compares each name with all others: 16,000 took 4 s. */
function repeatedNames(document: Document): { readonly offset: number; readonly text: string }[] {
  const found: number[] = [];
  const { isScalar, visit } = yaml();
  visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (names.has(key.value)) found.push(key.range?.[0] ?? 0);
        names.add(key.value);
      }
    },
  });
  return found.map((offset) => ({ offset, text: messagesByCode['DUPLICATE_KEY'] ?? '' }));
}

function hasTooManyAliases(document: Document): boolean {
  const { visit } = yaml();
  let count = 0;
  visit(document, { Alias: () => (++count > MAX_ALIASES ? visit.BREAK : undefined) });
  return count > MAX_ALIASES;
}

function unresolvedAliases(document: Document): number[] {
  const offsets: number[] = [];
  yaml().visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) === undefined) offsets.push(alias.range?.[0] ?? 0);
    },
  });
  return offsets;
}

function describe(code: string, message: string): string {
  const text =
    messagesByCode[code] ?? Object.entries(messagesByStart).find(([start]) => message.startsWith(start))?.[1];
  return text ?? `this cannot be read as YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

/** Offset of the value at the path, or of its innermost parent that the text contains. */
function offsetOf(document: Document, { path, isAtName: atName }: Diagnostic): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [depth, part] of path.entries()) {
    const found = stepInto(document, node, part);
    if (found === undefined) return offset;
    const isName = atName === true && depth === path.length - 1;
    const target = isName ? found.key : (found.value ?? found.key);
    offset = target?.range?.[0] ?? offset;
    node = found.value;
  }
  return offset;
}

interface Step {
  readonly key: Node | undefined;
  readonly value: Node | null;
}

function stepInto(document: Document, from: Node | null, part: Path[number]): Step | undefined {
  const { isAlias, isMap, isSeq } = yaml();
  const node = isAlias(from) ? from.resolve(document) : from;
  if (isSeq(node)) {
    const value = node.items[Number(part)] as Node | undefined;
    return value === undefined ? undefined : { key: undefined, value };
  }
  return isMap(node) ? findMember(document, node, String(part)) : undefined;
}

function findMember(document: Document, map: YAMLMap, name: string): Step | undefined {
  const { isScalar, isSeq } = yaml();
  const findPair = (key: string): Pair | undefined =>
    map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key);
  const pair = findPair(name);
  if (pair !== undefined) return { key: pair.key as Node, value: pair.value as Node | null };
  const merged = findPair('<<')?.value as Node | undefined;
  const sources = isSeq(merged) ? (merged.items as Node[]) : merged === undefined ? [] : [merged];
  for (const source of sources) {
    const found = stepInto(document, source, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
