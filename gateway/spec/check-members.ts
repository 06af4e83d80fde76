import { endOfValue, isArrayAt, isObjectAt, skipSpace, walkArray, walkObject } from '../jsonrpc/json-text.ts';
import { MemberFault, MemberNames } from '../jsonrpc/member-names.ts';

/** What the rules of members are read off. */
export interface MemberSchema {
  readonly properties?: Readonly<Record<string, MemberSchema | boolean>>;
  readonly items?: MemberSchema;
  readonly anyOf?: readonly MemberSchema[];
  readonly oneOf?: readonly MemberSchema[];
  readonly if?: MemberSchema;
  readonly then?: MemberSchema;
  readonly else?: MemberSchema;
}

/** Which members the objects in a value may have once only, and in this case only. */
interface MemberRules {
  /** Undefined: no member is read, the names are data. */
  readonly names: MemberNames | undefined;
  /** Of the members' values, in the order of their names. */
  readonly inner: readonly (MemberRules | undefined)[];
  /** Of the elements of an array. */
  readonly elements: MemberRules | undefined;
}

interface Walk {
  readonly rules: MemberRules;
  seen: number;
}

/** Gives where the first faulty member is, or undefined. */
export type MemberCheck = (params: string) => MemberFault | undefined;

/**
 * Checks the parameters as the caller wrote them: every object that the schemas know members of must have each of them
 * once, in the schemas' case. Objects without known members (state overrides) may have any.
 * @param params the schemas of the parameters, by position
 */
export function compileMemberCheck(params: readonly MemberSchema[]): MemberCheck {
  const rules = params.map((schema) => permissionsText([schema]));
  if (rules.every((rule) => rule === undefined)) return () => undefined;
  return (text) => {
    try {
      walkArray(text, skipSpace(text, 0), checkParam, rules);
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

/** @param schemas of the same value: which of them it meets is not known */
function permissionsText(schemas: readonly MemberSchema[]): MemberRules | undefined {
  if (schemas.length === 0) return undefined;
  const all = schemas.flatMap(branchesOf);
  const known = [...new Set(all.flatMap(({ properties = {} }) => Object.keys(properties)))];
  const inner = known.map((name) =>
    permissionsText(
      all.flatMap(({ properties }) => {
        const property = properties?.[name];
        return typeof property === 'object' ? [property] : [];
      }),
    ),
  );
  const elements = permissionsText(all.flatMap(({ items }) => items ?? []));
  if (known.length === 0 && elements === undefined) return undefined;
  return { names: known.length === 0 ? undefined : new MemberNames(known), inner, elements };
}

function branchesOf(schema: MemberSchema): MemberSchema[] {
  const branches = [schema.if, schema.then, schema.else, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [schema, ...branches.flatMap((branch) => (branch === undefined ? [] : branchesOf(branch)))];
}
