"""What a plan does to traffic: gateway, modem and line simulated packet by packet."""
