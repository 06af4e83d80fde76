import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { responseTo, gatewayFor, readConversation } from './conversation.ts';

describe('the conversations in test/cases match exactly', () => {
  const folder = join(packageRoot, 'test/cases');
  const files = readdirSync(folder).sort();

  it.each(files)('%s', async (file) => {
    const exchanges = readConversation(readFileSync(join(folder, file), 'utf8'));
    const gateway = await gatewayFor(exchanges, 1337);
    for (const exchange of exchanges) {
      expect.soft(await responseTo(gateway, exchange), exchange.title).toBe(exchange.response);
    }
  });

  it('cover each method of the specification', () => {
    const names = files.map((file) => file.replace('.io', ''));
    for (const method of [
      'eth_getStorageAt',
      'eth_getBlockByHash',
      'eth_getUncleByBlockHashAndIndex',
      'eth_getTransactionReceipt',
      'eth_estimateGas',
      'eth_getTransactionByHash',
      'zks_estimateFee',
    ]) {
      expect(names).toContain(method);
    }
  });
});
