import { createConfig } from 'ponder';

const parameters = [
  { name: 'by', type: 'address', indexed: true },
  { name: 'number', type: 'uint256' },
];

export default createConfig({
  chains: { gateway: { id: Number(process.env.CHAIN_ID), rpc: process.env.GATEWAY_URL } },
  contracts: {
    Counter: {
      chain: 'gateway',
      abi: [{ type: 'event', name: 'NumberSet', inputs: parameters }],
      address: process.env.COUNTER,
      startBlock: 0,
    },
  },
});
