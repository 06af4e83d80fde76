import { testSeeds } from '../simulation/seeds.ts';

testSeeds([9, 10, 11, 12]);
