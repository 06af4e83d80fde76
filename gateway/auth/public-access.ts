import type { CallerAccount } from '../admission/caller-account.ts';
import { PublicAccounts, type PublicAccountsParts } from '../admission/public-accounts.ts';
import type { NetworkConfig, PublicOptions } from '../network-files/network-config.ts';
import { coversMethod } from '../network-files/options/method-pattern.ts';
import { handlerOf } from '../spec/handlers.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { addressPrefix, isIpv6 } from './formats/address-group.ts';
import { PUBLIC_ID } from './formats/key.ts';
import { compileAccess, type KeyAccess, type PublicGroup } from './key-access.ts';
import type { MethodCheck } from './permissions/call-permissions.ts';
import { noLimits, rateOf, type KeyLimits, type PublicShare, type ShareLimits } from './permissions/key-limits.ts';
import { publicTexts, totalTexts } from './permissions/public-permissions.ts';

/** Namespaces whose methods are expensive, or show what a node is about to do. */
const closedNamespaces: ReadonlySet<string> = new Set(['debug', 'trace', 'txpool', 'ots']);

/** A customer may have a whole /48 of IPv6: it has the limits of so many addresses. */
const WIDE_PREFIX = 48;
const WIDE_SHARES = 16;
const DAY_S = 86_400;

/** Compiles `public` of a network file: what callers without a key may do, each client address with its own share. */
export class PublicAccess implements PublicGroup {
  /** The limits of all callers together. Undefined sockets and subscriptions: as many as one key may have. */
  readonly total: KeyLimits;
  readonly accounts: PublicAccounts;
  readonly senderLimits: PublicGroup['senderLimits'];
  readonly #options: PublicOptions;
  readonly #common: KeyAccess;
  readonly #limits: KeyLimits;
  readonly #ipv4Limits: ShareLimits;
  readonly #ipv6Limits: ShareLimits;

  /** @param previous of the same network, before a reload */
  constructor(
    { slug, developmentMethods }: Pick<NetworkConfig, 'slug' | 'developmentMethods'>,
    options: PublicOptions,
    previous?: PublicAccess,
    parts?: PublicAccountsParts,
  ) {
    // Of the network, because each has its own limits.
    const account = `public:${slug}`;
    this.#options = options;
    this.accounts = previous?.accounts ?? new PublicAccounts(account, parts);
    if (previous === undefined) this.limitConcurrency();
    const accounts = { of: (): CallerAccount => this.accounts.of('') };
    const record = { id: PUBLIC_ID, name: PUBLIC_ID, createdAt: '', permissions: publicTexts(options) };
    const methodCheck = checkOf(options.methods, developmentMethods);
    this.#common = compileAccess(record, accounts, { account, methodCheck });
    const own = this.#common.limits ?? noLimits(account);
    this.#limits = own;
    this.#ipv4Limits = { own, others: othersLimits(own, `${account}:others`) };
    const wide = timesLimits(own, WIDE_SHARES);
    this.#ipv6Limits = { own, wide, others: othersLimits(own, `${account}:other-networks`) };
    const total = compileAccess({ ...record, permissions: totalTexts(options) }, accounts, { account });
    this.total = total.limits ?? noLimits(account);
    this.senderLimits = options.perSender && senderLimitsOf(account, options.perSender);
  }

  /** @param address of the client */
  accessOf(address: string): KeyAccess {
    const { ipv4Prefix, ipv6Prefix } = this.#options;
    const group = addressPrefix(address, ipv4Prefix, ipv6Prefix);
    const account = this.accounts.of(group);
    const share = this.#limits.isCharged ? this.#shareOf(address, account.name) : undefined;
    const all = this.total.isCharged ? this.total : undefined;
    const isCharged = share !== undefined || all !== undefined;
    return {
      ...this.#common,
      account,
      limits: { ...this.#limits, account: account.name, isCharged, public: { share, all } },
      publicCaller: { of: this, address },
    };
  }

  #shareOf(address: string, account: string): PublicShare {
    if (!isIpv6(address)) return { account, isIpv4: true, limits: this.#ipv4Limits };
    const { ipv4Prefix, ipv6Prefix } = this.#options;
    const share = { account, isIpv4: false, limits: this.#ipv6Limits };
    if (ipv6Prefix <= WIDE_PREFIX) return share;
    return { ...share, wideAccount: `${this.total.account}:${addressPrefix(address, ipv4Prefix, WIDE_PREFIX)}` };
  }

  /** Limits the concurrency. To be called once this access is active: callers of the previous one have the same accounts. */
  limitConcurrency(): void {
    const { total, concurrency } = this.#options;
    this.accounts.limitConcurrency(total.concurrency, concurrency);
  }
}

/** @param named the methods and namespaces that are public; undefined: all that are public by default */
function checkOf(named: readonly string[] | undefined, developmentMethods: readonly string[]): MethodCheck {
  return (spec: MethodSpec) => {
    const { name, namespace } = spec;
    if (named?.includes(name) === true) return true;
    if (handlerOf(spec)?.by === 'filters' || developmentMethods.some((method) => coversMethod(method, name)))
      return false;
    return named === undefined ? !closedNamespaces.has(namespace) : named.includes(namespace);
  };
}

function senderLimitsOf(
  account: string,
  { rate: perSecond, burst }: NonNullable<PublicOptions['perSender']>,
): PublicGroup['senderLimits'] {
  const own = { ...noLimits(`${account}:other-senders`), rate: rateOf(perSecond, burst), isCharged: true };
  const limits: ShareLimits = { own, others: own };
  return (sender) => {
    const share = { account: `${account}:sender:${sender}`, isIpv4: false, limits };
    return { ...own, public: { share, all: undefined } };
  };
}

/** Limits of the others without a quota, which a few of them would use up for the rest until the day ends. */
function othersLimits({ daily, ...limits }: KeyLimits, account: string): KeyLimits {
  const rate = limits.rate ?? (daily === undefined ? undefined : rateOf(daily / DAY_S, daily));
  return { ...limits, account, rate, daily: undefined };
}

function timesLimits(limits: KeyLimits, factor: number): KeyLimits {
  const { rate, daily } = limits;
  return {
    ...limits,
    rate: rate && { perSecond: factor * rate.perSecond, burst: factor * rate.burst },
    daily: daily && factor * daily,
  };
}
