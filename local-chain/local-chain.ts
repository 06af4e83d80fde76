/** What the gateway loads of this folder, once a network has an upstream with `spawn`. Images do not have the folder. */
export { demoLines, removeDemo, storageLine, writeDemo } from './demo.ts';
export { makeDemoChain } from './demo-chain.ts';
export { startLocalNode } from './local-node.ts';
