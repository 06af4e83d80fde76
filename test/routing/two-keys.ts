import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { PermissionTexts } from '../../gateway/auth/permissions/permissions.ts';
import type { TestGateway } from '../support/gateway.ts';

/** Adds a key. @returns the URL of a network for it */
export async function addKey(
  { gateway, address }: TestGateway,
  slug: string,
  permissions: PermissionTexts = {},
): Promise<string> {
  const key = makeKey();
  await gateway.keys.add(digestOf(key), { name: 'other', createdAt: '2026-01-02T03:04:05.678Z', permissions });
  return `${address}/${slug}/v3/${key}`;
}

export const account = `0x${'12'.repeat(20)}`;

/** A call with a storage position, which the node sees. */
export function readAt(position: number, id = position): object {
  return { jsonrpc: '2.0', id, method: 'eth_getStorageAt', params: [account, `0x${position.toString(16)}`, 'latest'] };
}

export function postTo(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: 'POST', body: JSON.stringify(body), ...(signal && { signal }) });
}
