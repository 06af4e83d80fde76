import { describe, expect, it } from 'vitest';
import { documentOf, openRpcDocument } from '../../gateway/spec/openrpc-document.ts';

const base = { name: 'Five', methods: ['eth_chainId', 'eth_getBlockByHash', 'debug_traceCall'], baseUrls: [] };

/** Names in a section of the components to which a value refers. */
function refsIn(part: unknown, section: string): string[] {
  const refs = JSON.stringify(part).matchAll(new RegExp(`#/components/${section}/(\\w+)`, 'g'));
  return [...new Set([...refs].map(([, name = '']) => name))].toSorted();
}

describe('the OpenRPC document of a network', () => {
  it('has its methods only, in order, and its name', () => {
    const { info, methods } = documentOf(base);
    expect(info['title']).toBe('Gatehouse: Five');
    expect(methods.map(({ name }) => name)).toEqual(base.methods);
    expect(methods[1]).toBe(openRpcDocument().methods.find(({ name }) => name === 'eth_getBlockByHash'));
  });

  it('has pass-through methods, and states that they are forwarded unchanged', () => {
    const { methods } = documentOf(base);
    expect(methods[2]).toMatchObject({ name: 'debug_traceCall', params: [], errors: [] });
    expect(methods[2]?.summary).toContain('forwarded unchanged');
  });

  it.each([
    ['a few methods', base.methods],
    ['all of the spec', openRpcDocument().methods.map(({ name }) => name)],
    ['none', []],
  ])('has the types and errors that %s need, and no other', (_, methods) => {
    const document = documentOf({ ...base, methods });
    expect(Object.keys(document.components.schemas).toSorted()).toEqual(refsIn(document, 'schemas'));
    expect(Object.keys(document.components.errors).toSorted()).toEqual(refsIn(document, 'errors'));
  });

  it('has the URLs of the network, or the general ones', () => {
    expect(documentOf(base).servers).toBe(openRpcDocument().servers);
    const { servers } = documentOf({ ...base, baseUrls: ['https://five.example.org/'] });
    expect(servers.map(({ name, url }) => [name, url])).toEqual([
      ['HTTP', 'https://five.example.org/v3/${key}'],
      ['WebSocket', 'wss://five.example.org/ws/v3/${key}'],
    ]);
  });
});
