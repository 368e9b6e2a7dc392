--- `iolua --doctor`.
return require("iolua.doctor").main
