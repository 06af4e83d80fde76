import { JsonReader } from '../json/json-reader.ts';
import { MemberFault, MemberNames } from '../json/member-names.ts';

/** The part of a schema from which the member rules are derived. */
export interface MemberSchema {
  readonly properties?: Readonly<Record<string, MemberSchema | boolean>>;
  readonly items?: MemberSchema;
  readonly anyOf?: readonly MemberSchema[];
  readonly oneOf?: readonly MemberSchema[];
  readonly if?: MemberSchema;
  readonly then?: MemberSchema;
  readonly else?: MemberSchema;
}

/** The members that an object in a value may have once only, and in this spelling only. */
interface MemberRules {
  /** Names of the known members; undefined: the names are data. */
  readonly names: MemberNames | undefined;
  /** Rules for the members' values, in the order of their names. */
  readonly inner: readonly (MemberRules | undefined)[];
  /** Rules for the elements of an array. */
  readonly elements: MemberRules | undefined;
}

/**
 * Returns the first faulty member, if any.
 * @param given `params` as the caller wrote them, if they may have duplicated members, which `params` does not show
 */
export type MemberCheck = (params: readonly unknown[], given: string | undefined) => MemberFault | undefined;

/**
 * Compiles a check of the members of parameters. An object may have each member of its schema once only, and in the schema's
 * spelling only. Objects without members in their schema (state overrides) may have any.
 * @param params the schemas of the parameters, by position
 */
export function compileMemberCheck(params: readonly MemberSchema[]): MemberCheck {
  const rules = params.map((schema) => memberRulesOf([schema]));
  if (rules.every((rule) => rule === undefined)) return () => undefined;
  return (values, given) => {
    const reader = given === undefined ? undefined : new JsonReader(Buffer.from(given));
    reader?.skipSpace();
    reader?.enterArray();
    for (let index = 0; reader?.nextElement() ?? index < values.length; index++) {
      const fault =
        reader === undefined ? findVariant(values[index], rules[index], index) : findFault(reader, rules[index], index);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

/** The first member in another case. @param value without duplicated members @param place its name or index */
function findVariant(value: unknown, rules: MemberRules | undefined, place: string | number): MemberFault | undefined {
  if (rules === undefined || typeof value !== 'object' || value === null) return undefined;
  let fault: MemberFault | undefined;
  if (Array.isArray(value))
    for (let index = 0; index < value.length && fault === undefined; index++)
      fault = findVariant(value[index], rules.elements, index);
  else if (rules.names !== undefined) {
    fault = rules.names.findVariant(value);
    for (const [index, name] of rules.names.names.entries())
      if (rules.inner[index] !== undefined)
        fault ??= findVariant((value as Record<string, unknown>)[name], rules.inner[index], name);
  }
  fault?.path.unshift(place);
  return fault;
}

/** Reads a value up to its first faulty member. @param place its name or index */
function findFault(
  reader: JsonReader,
  rules: MemberRules | undefined,
  place: string | number,
): MemberFault | undefined {
  let fault: MemberFault | undefined;
  if (rules?.names !== undefined && reader.isAtObject) fault = findInObject(reader, rules, rules.names);
  else if (rules?.elements !== undefined && reader.isAtArray) fault = findInArray(reader, rules.elements);
  else reader.skipValue();
  fault?.path.unshift(place);
  return fault;
}

function findInObject(reader: JsonReader, { inner }: MemberRules, names: MemberNames): MemberFault | undefined {
  let seen = 0;
  reader.enterObject();
  while (reader.nextMember()) {
    const index = names.find(reader, seen);
    if (index instanceof MemberFault) return index;
    if (index === -1) {
      reader.skipValue();
      continue;
    }
    seen |= 1 << index;
    const fault = findFault(reader, inner[index], names.names[index] ?? '');
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function findInArray(reader: JsonReader, rules: MemberRules): MemberFault | undefined {
  reader.enterArray();
  for (let index = 0; reader.nextElement(); index++) {
    const fault = findFault(reader, rules, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** @param schemas alternatives for the same value */
function memberRulesOf(schemas: readonly MemberSchema[]): MemberRules | undefined {
  if (schemas.length === 0) return undefined;
  const all = schemas.flatMap(branchesOf);
  const known = [...new Set(all.flatMap(({ properties = {} }) => Object.keys(properties)))];
  const inner = known.map((name) =>
    memberRulesOf(
      all.flatMap(({ properties }) => {
        const property = properties?.[name];
        return typeof property === 'object' ? [property] : [];
      }),
    ),
  );
  const elements = memberRulesOf(all.flatMap(({ items }) => items ?? []));
  if (known.length === 0 && elements === undefined) return undefined;
  return { names: known.length === 0 ? undefined : new MemberNames(known), inner, elements };
}

function branchesOf(schema: MemberSchema): MemberSchema[] {
  const branches = [schema.if, schema.then, schema.else, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...branches.flatMap((branch) => (branch === undefined ? [] : branchesOf(branch)))];
}
