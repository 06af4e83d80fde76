import { defineConfig } from 'vitest/config';
import clients from '../vitest.config.ts';

/** `npm run test:rejections`. Takes minutes, because clients that send a call again are observed for 20 s. */
export default defineConfig({
  test: {
    ...clients.test,
    include: ['test/clients/rejections/*.test.ts'],
    // zksync-ethers does not catch the rejection of its own network detection.
    onUnhandledError: ({ message }) => !/^(server response [45]|exceeded maximum retry limit)/.test(message),
  },
});
