import { describe, expect, it } from 'vitest';
import { addressPrefix } from '../../gateway/auth/formats/address-group.ts';
import { PublicAccess } from '../../gateway/auth/public-access.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { configOf } from '../network-files/load.ts';
import { accessWith } from './access-with.ts';

const [sample = expect.fail()] = methods;

describe('the share of an address', () => {
  it.each([
    ['192.0.2.7', 32, 64, '192.0.2.7'],
    ['::ffff:192.0.2.7', 32, 64, '192.0.2.7'],
    ['192.0.2.200', 24, 64, '192.0.2.0'],
    ['192.0.2.200', 26, 64, '192.0.2.192'],
    ['192.168.2.200', 12, 64, '192.160.0.0'],
    ['2001:db8:1:2:3:4:5:6', 32, 64, '2001:db8:1:2'],
    ['2001:DB8::6', 32, 64, '2001:db8:0:0'],
    ['2001:db8:1:2ff::1', 32, 56, '2001:db8:1:200'],
    ['2001:db8:1:2::1', 32, 48, '2001:db8:1'],
    ['2001:db8:1:2::1', 32, 20, '2001:0'],
  ])('%s with /%i and /%i is that of %s', (address, ipv4Bits, ipv6Bits, prefix) => {
    expect(addressPrefix(address, ipv4Bits, ipv6Bits)).toBe(prefix);
  });

  it('counts for the /48 of an IPv6 address too, which has the limits of 16', () => {
    const shareOf = (address: string, options: object = {}): object | undefined =>
      accessWith({ rate: 2, burst: 5, daily: 10, ...options }).accessOf(address).limits?.public?.share;
    const own = { rate: { perSecond: 2, burst: 5 }, daily: 10 };
    const wide = { rate: { perSecond: 32, burst: 80 }, daily: 160 };
    const ipv4 = shareOf('192.0.2.7');
    expect(ipv4).toMatchObject({ account: 'public:main:192.0.2.7', isIpv4: true, limits: { own } });
    expect(ipv4).not.toHaveProperty('wideAccount');
    expect(shareOf('2001:db8:1:2::7')).toMatchObject({
      ...{ account: 'public:main:2001:db8:1:2', wideAccount: 'public:main:2001:db8:1' },
      ...{ isIpv4: false, limits: { own, wide } },
    });
    const whole = shareOf('2001:db8:1:2::7', { ipv6Prefix: 48 });
    expect(whole).toMatchObject({ account: 'public:main:2001:db8:1', isIpv4: false, limits: { own } });
    expect(whole).not.toHaveProperty('wideAccount');
  });

  it('has a rate and no quota where there is no place for it', () => {
    const othersWith = (options: object): object | undefined =>
      accessWith(options).accessOf('192.0.2.7').limits?.public?.share?.limits.others;
    const rate = { perSecond: 2, burst: 5 };
    expect(othersWith({ rate: 2, burst: 5, daily: 10 })).toMatchObject({ rate, daily: undefined });
    expect(othersWith({ daily: 86_400 })).toMatchObject({ rate: { perSecond: 1, burst: 86_400 }, daily: undefined });
  });
});

describe('the public methods', () => {
  const publicMethods = (access: PublicAccess): string[] => {
    const { calls } = access.accessOf('192.0.2.7');
    return methods.filter((method) => calls?.forbidMethod(method) === undefined).map(({ name }) => name);
  };

  it('are by default all but those of debug, trace, txpool and ots, and filters', () => {
    const names = publicMethods(accessWith({}));
    for (const name of ['eth_call', 'eth_getLogs', 'eth_sendRawTransaction', 'eth_subscribe', 'net_version']) {
      expect(names).toContain(name);
    }
    expect(names.filter((name) => /Filter/.test(name))).toEqual([]);
    const { calls } = accessWith({}).accessOf('192.0.2.7');
    for (const namespace of ['debug', 'trace', 'txpool', 'ots']) {
      expect(calls?.forbidMethod({ ...sample, name: `${namespace}_one`, namespace })).toEqual({ name: 'public' });
    }
  });

  it('are those that are named; a namespace opens no filters', () => {
    expect(publicMethods(accessWith({ methods: ['eth_call', 'eth_newFilter'] }))).toEqual([
      'eth_call',
      'eth_newFilter',
    ]);
    const names = publicMethods(accessWith({ methods: ['eth'] }));
    expect(names).toContain('eth_call');
    expect(names).not.toContain('eth_newFilter');
    expect(names).not.toContain('net_version');
  });

  it('are none that a network serves only because it is for development', () => {
    const access = accessWith({});
    const development = new PublicAccess(
      { slug: 'main', developmentMethods: ['eth_sign', 'anvil_*'] },
      configOf('main', { public: {} }).public ?? expect.fail(),
    );
    expect(publicMethods(access)).toContain('eth_accounts');
    const { calls } = development.accessOf('192.0.2.7');
    for (const name of ['eth_sign', 'anvil_setBalance']) {
      expect(calls?.forbidMethod({ ...sample, name })).toEqual({ name: 'public' });
    }
  });
});
