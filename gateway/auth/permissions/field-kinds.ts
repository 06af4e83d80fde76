import type { Reason } from '../../jsonrpc/errors.ts';
import type { ErrorForm } from '../../network-files/options/network-options.ts';
import type { VerifyLevel } from '../../network-files/options/verify-option.ts';
import type { Bounds } from '../../spec/bounds.ts';
import type { MethodCheck, ParamsCheck } from './call-permissions.ts';
import type { Caller } from './entry-permissions.ts';
import type { Reader } from './field-formats.ts';
import type { ChargedLimits, OpenLimits } from './key-limits.ts';
import type { TokenRules } from './token-keys.ts';

/** What each row of `permission-fields.ts` has, beside its kind and the evaluation that the kind requires. */
interface Field<Value> {
  /**
   * Operators set the field with this flag, by the admin API and on the keys page. Without a value it is a switch, whose text is
   * `on`. Undefined: an operation makes the value, as it does for `--secret`.
   */
  readonly flag: `--${string}` | undefined;
  /** Text for the help of the flag, the keys page, docs/keys.md, and the error text of an invalid value. */
  readonly meaning: string;
  /** A key with an invalid text is rejected. */
  readonly read: Reader<Value>;
  /** Title on the keys page. Default: the field's name as words. */
  readonly title?: string;
  /** Place and control of the field on the keys page. Default: a text among the rarely used ones. */
  readonly page?: FieldPage;
  /** What an entry of a list is, for error texts: `address range`. */
  readonly noun?: string;
  /** Converts the text of the flag to the stored text. */
  readonly fromFlag?: (text: string) => string;
  /** Converts the stored text to a text that may be shown. */
  readonly display?: (text: string) => string;
  /** The names of methods in the text: a warning names those that the spec does not have. */
  readonly methodsIn?: (text: string) => readonly string[];
}

export interface FieldPage {
  readonly group: 'access' | 'limits' | 'rare';
  /** `networks`, `methods`, `origins`, `plans`, `teams`: a text, with a choice of what exists. `time`: a date and time in UTC. */
  readonly control?: 'networks' | 'methods' | 'origins' | 'plans' | 'teams' | 'time' | 'switches';
  /** The values of switches, each with its meaning. */
  readonly switches?: Readonly<Record<string, string>>;
}

/** Values of other rows, for the evaluations that need them. */
export interface OtherValues {
  readonly methods?: readonly string[];
  readonly rate?: number;
}

/** Object with at least one member of a type. */
type SomeOf<Whole> = { [Name in keyof Whole]: Pick<Whole, Name> }[keyof Whole];

/** What the key may do beyond others. */
export interface Capabilities {
  /** Gets an explanation of the routing of a call. */
  readonly explain: boolean;
  /** Whether transactions of the key are sent to the upstreams of `private` in the network file. */
  readonly private: boolean;
  /** Whether the key may ask for proven results. */
  readonly verify: boolean;
  /** How far all its results are proven. */
  readonly verifyLevel: VerifyLevel;
  /** The form of its errors over a limit; undefined: that of the network. */
  readonly errors?: ErrorForm;
  /** Whether its allow-lists do not hold for requests with its secret. */
  readonly overridesAllowlists?: boolean;
}

/** How the fields of each kind are evaluated. Evaluations are declared as methods, so that a row with any type of value is a `PermissionRow`. */
interface Evaluations<Value> {
  /** Evaluated before the body is read. */
  readonly entry: { readonly rejection: Reason; check(value: Value): (caller: Caller) => boolean };
  /** Evaluated for each call, before its parameters are validated. */
  readonly method: { check(value: Value): MethodCheck };
  /** Evaluated for each call, after its parameters are validated. */
  readonly params: { check(value: Value, others: OtherValues): ParamsCheck };
  /** A limit that bodies are charged to. Its limit replaces that of the rows above it. */
  readonly charged: {
    /** Another field, which a key with this one must have. */
    readonly requires?: keyof OtherValues;
    limit(value: Value, others: OtherValues): SomeOf<ChargedLimits>;
  };
  /** A limit on what is open at once. */
  readonly open: { limit(value: Value): SomeOf<OpenLimits> };
  /** A bound of what one call may request. The lower of the network's and the key's holds. */
  readonly bound: { bound(value: Value): SomeOf<Bounds> };
  readonly capability: {
    /** Another field, which a key with this one must have. */
    readonly requires?: 'secrets';
    grant(value: Value): SomeOf<Capabilities>;
  };
  /** How tokens that stand beside the key are verified. */
  readonly token: { rules(value: Value): SomeOf<TokenRules> };
  /** The account that is charged, and whose open sockets and subscriptions count. */
  readonly account: { account(value: Value): string };
  /** The plan whose permissions `withPlan` adds before the others are evaluated. */
  readonly plan: object;
}

type FieldRow<Value> = {
  [Kind in keyof Evaluations<Value>]: Field<Value> & { readonly kind: Kind } & Evaluations<Value>[Kind];
}[keyof Evaluations<Value>];

/** A row of any kind. */
export type PermissionRow = FieldRow<unknown>;

/** Checks that a row has the evaluation of its kind, for the values that it reads. */
export function field<Value>(row: FieldRow<Value>): FieldRow<Value> {
  return row;
}
