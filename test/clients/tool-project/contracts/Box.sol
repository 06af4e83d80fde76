// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Box {
    uint256 public number;

    function initialize(uint256 first) public {
        require(number == 0, "initialized");
        number = first;
    }
}

contract BoxV2 is Box {
    function increment() public {
        number++;
    }
}
