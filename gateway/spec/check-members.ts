import { endOfValue, isArrayAt, isObjectAt, startOfNext, walkArray, walkObject } from '../jsonrpc/json-text.ts';
import { MemberFault, MemberNames } from '../jsonrpc/member-names.ts';

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

interface Walk {
  readonly rules: MemberRules;
  seen: number;
}

/** Returns the first faulty member, if any. */
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
    try {
      walkArray(text, startOfNext(text, 0), checkParam, rules);
      return undefined;
    } catch (error) {
      if (error instanceof MemberFault) return error;
      throw error;
    }
  };
}

function checkParam(text: string, start: number, index: number, rules: readonly (MemberRules | undefined)[]): number {
  return checkInner(text, start, rules[index], index);
}

function checkInner(text: string, start: number, rules: MemberRules | undefined, place: string | number): number {
  if (rules === undefined) return endOfValue(text, start);
  try {
    if (rules.names !== undefined && isObjectAt(text, start)) {
      return walkObject(text, start, checkMember, { rules, seen: 0 });
    }
    if (rules.elements !== undefined && isArrayAt(text, start)) {
      return walkArray(text, start, checkElement, rules.elements);
    }
  } catch (error) {
    if (error instanceof MemberFault) error.path.unshift(place);
    throw error;
  }
  return endOfValue(text, start);
}

function checkMember(text: string, nameStart: number, nameEnd: number, valueStart: number, walk: Walk): number {
  const { names, inner } = walk.rules;
  const index = names?.find(text, nameStart, nameEnd, walk.seen) ?? -1;
  if (index === -1) return endOfValue(text, valueStart);
  walk.seen |= 1 << index;
  return checkInner(text, valueStart, inner[index], names?.names[index] ?? '');
}

function checkElement(text: string, start: number, index: number, rules: MemberRules): number {
  return checkInner(text, start, rules, index);
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
