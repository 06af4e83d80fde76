/** The JSON Schema of a value in a network file, as far as network files need JSON Schema. */
export interface ValueSchema {
  /** Completes the diagnostic `expected …`. */
  readonly title: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly if?: { readonly type: 'integer' | 'number' | 'boolean' | 'string' | 'array' };
  readonly then?: ValueSchema;
  readonly else?: ValueSchema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly items?: ValueSchema;
  /** Members of a map with these members and no others. */
  readonly properties?: Readonly<Record<string, OptionSchema>>;
  /** Members of a map with `properties` and, by pattern of their names, maps with the same members: see `entriesByMethod`. */
  readonly patternProperties?: Readonly<Record<string, ValueSchema>>;
  /** Members of a map with any names. */
  readonly additionalProperties?: ValueSchema;
  readonly propertyNames?: ValueSchema;
  readonly minProperties?: number;
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
  /** Schemas of which one must match. The titles complete the diagnostic. */
  readonly oneOf?: readonly { readonly title: string; readonly [keyword: string]: unknown }[];
}

/** A member of a map. */
export interface OptionSchema extends ValueSchema {
  /** Description for editors and docs/reference/network-options.md. */
  readonly description: string;
  /** Value if the file has none. Without a default, the value is undefined. */
  readonly default?: unknown;
  /** The option with the same members, where docs/reference/network-options.md has them. */
  readonly membersAs?: string;
  /** `by other options`: `dependentRequired` of the map says when; otherwise the text is empty. */
  readonly isRequired?: true | 'by other options';
}

/** A row of network-options.ts: the schema of an option, and what the gateway does with its value. */
export interface Option<Replaced extends string> extends OptionSchema {
  /** Part that a reload replaces when the value changes. */
  readonly replaces: Replaced;
  /** Each text may contain `${NAME}` from the environment and `${file:/path}`, and is secret. */
  readonly hasVariables?: true;
  /** A text that starts with a slash is the path of a file, whose content is the value. */
  readonly isFile?: true;
  /**
   * Checks a text beyond the schema, after expansion; undefined if its variables could not be expanded.
   * @param name of the member that has the text
   * @returns the problem, without the text
   */
  readonly check?: (text: string | undefined, name: string | number) => string | undefined;
}

/**
 * - `chain`: the network with its heads and subscriptions, and all its upstreams
 * - `network`: routing and caches; upstreams, heads and subscriptions stay
 */
export type NetworkOption = Option<'chain' | 'network'>;

/**
 * - `upstream`: its connections and statistics; code reads the value once, from `FixedUpstreamOptions`
 * - `nothing`: code reads `upstream.config` (`LiveUpstreamOptions`), so the next call uses the new value
 */
export type UpstreamOption = Option<'upstream' | 'nothing'>;

/** The rows whose change replaces `Replaced`. */
export type RowsReplacing<Replaced, Rows> = {
  readonly [Name in keyof Rows as Rows[Name] extends { replaces: Replaced } ? Name : never]: Rows[Name];
};

/** The type of a value with this schema. */
export type ValueOf<Schema> = Schema extends { then: infer Then; else: infer Else }
  ? ValueOf<Then> | ValueOf<Else>
  : Schema extends { const: infer Const }
    ? Const
    : Schema extends { enum: readonly (infer Member)[] }
      ? Member
      : Schema extends { items: infer Item }
        ? readonly ValueOf<Item>[]
        : Schema extends { patternProperties: Readonly<Record<string, infer Entry>> }
          ? Readonly<Record<string, ValueOf<Entry>>>
          : Schema extends { properties: infer Rows }
            ? ValuesOf<Rows>
            : Schema extends { additionalProperties: infer Member }
              ? Readonly<Record<string, ValueOf<Member>>>
              : Schema extends { type: infer Type }
                ? ValueOfType<Type>
                : never;

/** Type of a map with these options. Options without a default are undefined if the file does not set them. */
export type ValuesOf<Rows> = {
  readonly [Name in keyof Rows as IsAlwaysSet<Rows[Name]> extends true ? Name : never]: ValueOf<Rows[Name]>;
} & {
  readonly [Name in keyof Rows as IsAlwaysSet<Rows[Name]> extends true ? never : Name]?: ValueOf<Rows[Name]>;
};

type IsAlwaysSet<Row> = Row extends { isRequired: true | 'by other options' } | { default: unknown } ? true : false;

type ValueOfType<Type> = Type extends 'string'
  ? string
  : Type extends 'integer' | 'number'
    ? number
    : Type extends 'boolean'
      ? boolean
      : never;

/*
 * Schemas of usual values. Their titles say what a diagnostic expects.
 */

/** @param unit such as `milliseconds` */
export function whole(minimum: number, maximum?: number, unit?: string) {
  const noun = unit === undefined ? 'whole number' : `whole number of ${unit}`;
  if (maximum === undefined) return { title: `${noun} from ${minimum}`, type: 'integer', minimum } as const;
  return { title: `${noun} from ${minimum} to ${maximum}`, type: 'integer', minimum, maximum } as const;
}

export const aboveZero = { title: 'number above 0', type: 'number', exclusiveMinimum: 0 } as const;

export const trueOrFalse = { title: 'true or false', type: 'boolean' } as const;

export function text<const Pattern extends string>(title: string, pattern: Pattern) {
  return { title, type: 'string', pattern } as const;
}

export function oneOf<const Names extends readonly string[]>(...names: Names) {
  return { title: `${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`, enum: names };
}

export function listOf<const Items extends ValueSchema>(title: string, items: Items) {
  return { title, type: 'array', minItems: 1, items } as const;
}

/** A value of one of two schemas, by its type. */
export function either<const Then extends Partial<ValueSchema>, const Else extends Partial<ValueSchema>>(
  title: string,
  type: NonNullable<ValueSchema['if']>['type'],
  then: Then,
  otherwise: Else,
) {
  return { title, if: { type }, then: { ...then, title }, else: { ...otherwise, title } } as const;
}
