import type { MethodSpec, ObjectShape } from '../gateway/spec/method-spec.ts';
import { comparedFields } from './compared-fields.ts';
import { methodTable, nodeMethods } from './method-table.ts';
import type { Sources } from './read-sources.ts';

/** The method table as a module. Each shape is one constant: one line for each member, so that a diff shows each change. */
export function methodModule(sources: Sources): string {
  const { passThroughUnits, passThroughSplits, passThroughGroups, passThroughBlocks, developmentMethods, neverOpened } =
    sources;
  const table = methodTable(sources);
  const shapes = shapesOf(table);
  const handled = Object.fromEntries(table.flatMap(({ name, handledBy }) => (handledBy ? [[name, handledBy]] : [])));
  return [
    '// Generated from schemas/methods and schemas/types by `npm run generate`. Do not edit.',
    "import type { BlockPlace, MethodGroup, MethodSpec, ObjectShape } from './method-spec.ts';",
    '',
    ...[...shapes.values()].flatMap((shape) => [`const ${shape.type}: ObjectShape = ${members(shape)};`, '']),
    `export const methods: readonly MethodSpec[] = [\n${table.map((method) => `  ${members(method, '  ')},`).join('\n')}\n];`,
    '',
    '/** The methods that the gateway itself sends to upstreams, by `role`. */',
    `export const nodeMethods = ${members(nodeMethods(sources))} as const;`,
    '',
    '/** The fields that audits compare, by type. The value is the type of the objects in a field; empty for other values. */',
    `export const comparedFields: Readonly<Record<string, Readonly<Record<string, string>>>> = ${members(comparedFields(sources))};`,
    '',
    '/** Request units of methods without a schema, by name or by the start of the name. */',
    `export const passThroughUnits: Readonly<Record<string, number | string>> = ${members(passThroughUnits)};`,
    '',
    '/** Methods without a schema that split: the position of the filter with the block range. */',
    `export const passThroughSplits: Readonly<Record<string, number>> = ${members(passThroughSplits)};`,
    '',
    '/** Methods without a schema, by name or by the start of the name: their group, if it is not `other`. */',
    `export const passThroughGroups: Readonly<Record<string, MethodGroup>> = ${members(passThroughGroups)};`,
    '',
    '/** Methods without a schema, by name or by the start of the name: the place of their block. */',
    `export const passThroughBlocks: Readonly<Record<string, BlockPlace>> = ${members(passThroughBlocks)};`,
    '',
    '/** What development networks serve beside the methods of their files: names, and namespaces as `evm_*`. */',
    `export const developmentMethods: readonly string[] = ${JSON.stringify(developmentMethods, undefined, 2)};`,
    '',
    '/** Methods that no wildcard opens: an asterisk stands for any characters. */',
    `export const neverOpened: readonly string[] = ${JSON.stringify(
      neverOpened.flatMap(({ methods }) => methods),
      undefined,
      2,
    )};`,
    '',
    '/** Pass-through methods that send transactions. */',
    `export const passThroughSends: readonly string[] = ${JSON.stringify(
      neverOpened.flatMap(({ methods, sends }) => (sends === true ? methods : [])),
      undefined,
      2,
    )};`,
    '',
    '/** The methods that the gateway handles itself, and by which part: `answer`. */',
    `export type HandledMethods = ${members(handled)};`,
    '',
  ].join('\n');
}

/** The shapes of all methods by type, nested ones before those that contain them. */
function shapesOf(table: readonly MethodSpec[]): ReadonlyMap<string, ObjectShape> {
  const shapes = new Map<string, ObjectShape>();
  const add = (shape: ObjectShape): void => {
    if (shapes.has(shape.type)) return;
    Object.values(shape.nested).forEach(add);
    shapes.set(shape.type, shape);
  };
  for (const { shape } of table) if (shape !== undefined) add(shape);
  return shapes;
}

/** An object with one line for each member. */
function members(value: object, indent = ''): string {
  const lines = Object.entries(value).map(
    ([name, member]) => `${indent}  ${JSON.stringify(name)}: ${literal(name, member)},\n`,
  );
  return `{\n${lines.join('')}${indent}}`;
}

/** A member in one line. A shape is named. */
function literal(name: string, value: unknown): string {
  if (name === 'shape') return (value as ObjectShape).type;
  if (name !== 'nested') return JSON.stringify(value);
  const shapes = Object.entries(value as ObjectShape['nested']);
  return `{${shapes.map(([field, { type }]) => `${JSON.stringify(field)}:${type}`).join(',')}}`;
}
