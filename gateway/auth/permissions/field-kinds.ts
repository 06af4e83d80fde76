import type { Reason } from '../../jsonrpc/errors.ts';
import type { ErrorForm } from '../../network-files/options/network-options.ts';
import type { VerifyLevel } from '../../network-files/options/verify-option.ts';
import type { Bounds } from '../../spec/bounds.ts';
import type { MethodCheck, ParamsCheck } from './call-permissions.ts';
import type { Caller } from './entry-permissions.ts';
import type { Reader } from './field-formats.ts';
import type { ChargedLimits, OpenLimits } from './key-limits.ts';
import type { TokenRules } from './token-keys.ts';

/** What each row of `permission-fields.ts` has. Its kind says where it is evaluated, and requires the evaluation. */
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

// Evaluations are declared as methods, so that a row with any type of value is a `Row`.

/** Field that is evaluated before the body is read. */
interface EntryField<Value> extends Field<Value> {
  readonly kind: 'entry';
  readonly rejection: Reason;
  check(value: Value): (caller: Caller) => boolean;
}

/** Field that is evaluated for each call, before its parameters are validated. */
interface MethodField<Value> extends Field<Value> {
  readonly kind: 'method';
  check(value: Value): MethodCheck;
}

/** Field that is evaluated for each call, after its parameters are validated. */
interface ParamsField<Value> extends Field<Value> {
  readonly kind: 'params';
  check(value: Value, others: OtherValues): ParamsCheck;
}

/** A limit that bodies are charged to. Its limit replaces that of the rows above it. */
interface ChargedField<Value, Required extends keyof OtherValues, Others> extends Field<Value> {
  readonly kind: 'charged';
  /** Another field, which a key with this one must have. */
  readonly requires?: Required;
  limit(value: Value, others: Others): SomeOf<ChargedLimits>;
}

type PresentValues<Names extends keyof OtherValues> = { readonly [Name in Names]-?: NonNullable<OtherValues[Name]> };

/** A limit on what is open at once. */
interface OpenField<Value> extends Field<Value> {
  readonly kind: 'open';
  limit(value: Value): SomeOf<OpenLimits>;
}

/** A bound of what one call may request. The lower of the network's and the key's holds. */
interface BoundField<Value> extends Field<Value> {
  readonly kind: 'bound';
  bound(value: Value): SomeOf<Bounds>;
}

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

interface CapabilityField<Value> extends Field<Value> {
  readonly kind: 'capability';
  /** Another field, which a key with this one must have. */
  readonly requires?: 'secrets';
  grant(value: Value): SomeOf<Capabilities>;
}

/** How tokens that stand beside the key are verified. */
interface TokenField<Value> extends Field<Value> {
  readonly kind: 'token';
  rules(value: Value): SomeOf<TokenRules>;
}

/** The account that is charged, and whose open sockets and subscriptions count. */
interface AccountField<Value> extends Field<Value> {
  readonly kind: 'account';
  account(value: Value): string;
}

/** The plan whose permissions `withPlan` adds before the others are evaluated. */
interface PlanField extends Field<string> {
  readonly kind: 'plan';
}

/** A row of any kind. */
export type PermissionRow =
  | EntryField<unknown>
  | MethodField<unknown>
  | ParamsField<unknown>
  | ChargedField<unknown, keyof OtherValues, OtherValues>
  | OpenField<unknown>
  | BoundField<unknown>
  | CapabilityField<unknown>
  | TokenField<unknown>
  | AccountField<unknown>
  | PlanField;

type WithoutKind<Kind> = Omit<Kind, 'kind'>;

export function entryField<Value>(row: WithoutKind<EntryField<Value>>): EntryField<Value> {
  return { kind: 'entry', ...row };
}

export function methodField<Value>(row: WithoutKind<MethodField<Value>>): MethodField<Value> {
  return { kind: 'method', ...row };
}

export function paramsField<Value>(row: WithoutKind<ParamsField<Value>>): ParamsField<Value> {
  return { kind: 'params', ...row };
}

export function chargedField<Value, Required extends keyof OtherValues = never>(
  row: WithoutKind<ChargedField<Value, Required, PresentValues<Required>>>,
): ChargedField<Value, Required, PresentValues<Required>> {
  return { kind: 'charged', ...row };
}

export function openField<Value>(row: WithoutKind<OpenField<Value>>): OpenField<Value> {
  return { kind: 'open', ...row };
}

export function boundField<Value>(row: WithoutKind<BoundField<Value>>): BoundField<Value> {
  return { kind: 'bound', ...row };
}

export function capabilityField<Value>(row: WithoutKind<CapabilityField<Value>>): CapabilityField<Value> {
  return { kind: 'capability', ...row };
}

export function tokenField<Value>(row: WithoutKind<TokenField<Value>>): TokenField<Value> {
  return { kind: 'token', ...row };
}

export function accountField<Value>(row: WithoutKind<AccountField<Value>>): AccountField<Value> {
  return { kind: 'account', ...row };
}

export function planField(row: WithoutKind<PlanField>): PlanField {
  return { kind: 'plan', ...row };
}
