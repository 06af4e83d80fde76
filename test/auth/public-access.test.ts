import { describe, expect, it } from 'vitest';
import { addressPrefix } from '../../gateway/auth/formats/address-group.ts';
import { PublicAccess } from '../../gateway/auth/public-access.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { configOf } from '../network-files/load.ts';

function accessWith(options: object): PublicAccess {
  const config = configOf('main', { public: options });
  if (config.public === undefined) throw new Error('no options');
  return new PublicAccess(config, config.public, (name) => ({ name, isAddress: true, bytes: 0 }));
}

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
    const limits = (address: string, options: object = {}): unknown =>
      accessWith({ rate: 2, burst: 5, daily: 10, ...options })
        .accessOf(address)
        .limits?.public?.shares.map(({ account, limits: { rate, daily } }) => [account, rate, daily]);
    const own = [{ perSecond: 2, burst: 5 }, 10];
    expect(limits('192.0.2.7')).toEqual([['public:main:192.0.2.7', ...own]]);
    expect(limits('2001:db8:1:2::7')).toEqual([
      ['public:main:2001:db8:1', { perSecond: 32, burst: 80 }, 160],
      ['public:main:2001:db8:1:2', ...own],
    ]);
    expect(limits('2001:db8:1:2::7', { ipv6Prefix: 48 })).toEqual([['public:main:2001:db8:1', ...own]]);
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
      (name) => ({ name, isAddress: true, bytes: 0 }),
    );
    expect(publicMethods(access)).toContain('eth_accounts');
    const { calls } = development.accessOf('192.0.2.7');
    for (const name of ['eth_sign', 'anvil_setBalance']) {
      expect(calls?.forbidMethod({ ...sample, name })).toEqual({ name: 'public' });
    }
  });
});
