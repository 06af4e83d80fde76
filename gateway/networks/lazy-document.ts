import type { ReplaceableConfig } from '../network-files/network-config.ts';
import { documentOf, OpenRpcText } from '../spec/openrpc-document.ts';
import { jsonResponse } from '../upstreams/transport/upstream-response.ts';
import type { Network } from '../call/network.ts';

/** The OpenRPC document of a network, made and serialised at its first use. */
export function lazyDocument(
  { name, methods, baseUrls }: ReplaceableConfig,
  wildcards: readonly string[],
  except: readonly string[],
): Network['document'] {
  let document: ReturnType<Network['document']> | undefined;
  const serialise = (): ReturnType<Network['document']> => {
    const text = new OpenRpcText(documentOf({ name, methods, wildcards, except, baseUrls }));
    const { parts } = text.with();
    return { text, response: { kind: 'large', parts, parse: () => jsonResponse(Buffer.concat(parts)).parse() } };
  };
  return () => (document ??= serialise());
}
