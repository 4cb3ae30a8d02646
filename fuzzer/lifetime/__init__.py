"""When is the engine alive, when does it live again, and who pays for the lives that it loses?"""
