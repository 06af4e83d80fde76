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
  /** Undefined: the object has no known members, its names are data. */
  readonly names: MemberNames | undefined;
  /** Rules for the members' values, in the order of their names. */
  readonly inner: readonly (MemberRules | undefined)[];
  /** Rules for the elements of an array. */
  readonly elements: MemberRules | undefined;
}

/** Returns the first faulty member, if any. @param params valid JSON */
export type MemberCheck = (params: string) => MemberFault | undefined;

/**
 * Compiles a check of the parameters as the caller wrote them. An object may have each member of its schema once only,
 * and in the schema's spelling only. Objects without members in their schema (state overrides) may have any.
 * @param params the schemas of the parameters, by position
 */
export function compileMemberCheck(params: readonly MemberSchema[]): MemberCheck {
  const rules = params.map((schema) => memberRulesOf([schema]));
  if (rules.every((rule) => rule === undefined)) return () => undefined;
  return (text) => {
    const reader = new JsonReader(Buffer.from(text));
    reader.skipSpace();
    reader.enterArray();
    for (let index = 0; reader.nextElement(); index++) {
      const fault = findFault(reader, rules[index], index);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
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
